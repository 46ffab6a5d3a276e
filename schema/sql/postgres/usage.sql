-- What each user has the service keep: the sums of contents and documents.
CREATE TABLE users (
	principal TEXT COLLATE "C" PRIMARY KEY,
	bytes     BIGINT NOT NULL DEFAULT 0, -- of originals and their text, in all versions of documents
	documents BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE folders (
	id        TEXT COLLATE "C" PRIMARY KEY,
	parent    TEXT COLLATE "C" NOT NULL, -- '' at the top level
	-- The folder whose limits hold for it: the one at the top level, or in the
	-- inbox that of a user; '' for the inbox itself.
	space     TEXT COLLATE "C" NOT NULL,
	maker     TEXT COLLATE "C" NOT NULL,
	bytes     BIGINT NOT NULL DEFAULT 0, -- of the documents directly in it, in all versions
	documents BIGINT NOT NULL DEFAULT 0, -- directly in it
	deleted   BIGINT NOT NULL DEFAULT 0  -- 1 where it, or a folder above it, was deleted
);
CREATE INDEX folders_parent ON folders (parent);
CREATE INDEX folders_space ON folders (space);
CREATE INDEX folders_maker ON folders (maker);

-- Entries of permission lists, and who made them.
CREATE TABLE shares (
	folder    TEXT COLLATE "C" NOT NULL,
	principal TEXT COLLATE "C" NOT NULL,
	maker     TEXT COLLATE "C" NOT NULL,
	PRIMARY KEY (folder, principal)
);
CREATE INDEX shares_maker ON shares (maker);

CREATE TABLE documents (
	id     TEXT COLLATE "C" NOT NULL PRIMARY KEY,
	folder TEXT COLLATE "C" NOT NULL,
	owner  TEXT COLLATE "C" NOT NULL,   -- who imported it
	bytes  BIGINT NOT NULL -- in all versions
);
CREATE INDEX documents_folder ON documents (folder);

-- What documents keep, one for each upload: the original and its text.
CREATE TABLE contents (
	document TEXT COLLATE "C" NOT NULL,
	version  BIGINT NOT NULL,
	owner    TEXT COLLATE "C" NOT NULL, -- who uploaded it
	size     BIGINT NOT NULL,
	PRIMARY KEY (document, version)
);

-- Files whose work has not ended.
CREATE TABLE work (
	job     TEXT COLLATE "C" NOT NULL,
	file    BIGINT NOT NULL,
	owner   TEXT COLLATE "C" NOT NULL DEFAULT '', -- '' until the job is requested
	size    BIGINT NOT NULL,
	makes   BIGINT NOT NULL, -- 1 where it is to become a document of its own
	under   TEXT COLLATE "C" NOT NULL,    -- folder that it goes to, or below; '' for none
	path    TEXT COLLATE "C" NOT NULL,    -- of the folder that it goes to
	space   TEXT COLLATE "C" NOT NULL,    -- name of the folder whose limits hold for it
	folders BIGINT NOT NULL, -- that may have to be made for it
	PRIMARY KEY (job, file)
);
CREATE INDEX work_owner ON work (owner);
CREATE INDEX work_under ON work (under);
CREATE INDEX work_space ON work (space);

-- Files that came to nothing, whose originals are still to be swept.
CREATE TABLE failed (
	job   TEXT COLLATE "C" NOT NULL,
	file  BIGINT NOT NULL,
	owner TEXT COLLATE "C" NOT NULL,
	size  BIGINT NOT NULL,
	ended TEXT COLLATE "C" NOT NULL,
	PRIMARY KEY (job, file)
);
CREATE INDEX failed_owner ON failed (owner, ended);

-- What deleted documents kept, whose originals are still to be swept.
CREATE TABLE removed (
	document TEXT COLLATE "C" NOT NULL,
	version  BIGINT NOT NULL,
	owner    TEXT COLLATE "C" NOT NULL,
	size     BIGINT NOT NULL,
	ended    TEXT COLLATE "C" NOT NULL,
	PRIMARY KEY (document, version)
);
CREATE INDEX removed_owner ON removed (owner, ended);
