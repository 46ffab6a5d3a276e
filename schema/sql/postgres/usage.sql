-- What each user has the service keep and do: the sums of contents and
-- documents, and of files in work.
CREATE TABLE users (
	principal      TEXT COLLATE "C" PRIMARY KEY,
	bytes          BIGINT NOT NULL DEFAULT 0, -- of originals and their text, in all versions of documents
	documents      BIGINT NOT NULL DEFAULT 0,
	work_files     BIGINT NOT NULL DEFAULT 0,
	work_bytes     BIGINT NOT NULL DEFAULT 0,
	work_documents BIGINT NOT NULL DEFAULT 0, -- that they are to become
	work_folders   BIGINT NOT NULL DEFAULT 0  -- that may have to be made for them
);

-- What lies in a space, or is in work for it: by the id of its folder, or by '/'
-- and its name for what is in work and names no folder that exists.
CREATE TABLE spaces (
	space     TEXT COLLATE "C" PRIMARY KEY,
	bytes     BIGINT NOT NULL,
	documents BIGINT NOT NULL
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
CREATE INDEX work_under ON work (under);

-- Folders that files in work may have to make, each once for all of its files.
CREATE TABLE making (
	owner   TEXT COLLATE "C" NOT NULL,
	under   TEXT COLLATE "C" NOT NULL,
	path    TEXT COLLATE "C" NOT NULL,
	folders BIGINT NOT NULL,
	files   BIGINT NOT NULL,
	PRIMARY KEY (owner, under, path, folders)
);

-- What is kept until its originals are swept, by the hour in which that began.
CREATE TABLE unswept (
	owner   TEXT COLLATE "C" NOT NULL,
	hour    TEXT COLLATE "C" NOT NULL,
	failed  BIGINT NOT NULL, -- bytes of files that came to nothing
	deleted BIGINT NOT NULL, -- bytes of deleted documents, with their text
	PRIMARY KEY (owner, hour)
);
