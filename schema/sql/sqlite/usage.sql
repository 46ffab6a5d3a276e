-- What each user has the service keep: the sums of contents and documents.
CREATE TABLE users (
	principal TEXT PRIMARY KEY,
	bytes     INTEGER NOT NULL DEFAULT 0, -- of originals and their text, in all versions of documents
	documents INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

CREATE TABLE folders (
	id        TEXT PRIMARY KEY,
	parent    TEXT NOT NULL, -- '' at the top level
	-- The folder whose limits hold for it: the one at the top level, or in the
	-- inbox that of a user; '' for the inbox itself.
	space     TEXT NOT NULL,
	maker     TEXT NOT NULL,
	bytes     INTEGER NOT NULL DEFAULT 0, -- of the documents directly in it, in all versions
	documents INTEGER NOT NULL DEFAULT 0, -- directly in it
	deleted   INTEGER NOT NULL DEFAULT 0  -- 1 where it, or a folder above it, was deleted
) WITHOUT ROWID;
CREATE INDEX folders_parent ON folders (parent);
CREATE INDEX folders_space ON folders (space);
CREATE INDEX folders_maker ON folders (maker);

-- Entries of permission lists, and who made them.
CREATE TABLE shares (
	folder    TEXT NOT NULL,
	principal TEXT NOT NULL,
	maker     TEXT NOT NULL,
	PRIMARY KEY (folder, principal)
) WITHOUT ROWID;
CREATE INDEX shares_maker ON shares (maker);

CREATE TABLE documents (
	id     TEXT NOT NULL PRIMARY KEY,
	folder TEXT NOT NULL,
	owner  TEXT NOT NULL,   -- who imported it
	bytes  INTEGER NOT NULL -- in all versions
);
CREATE INDEX documents_folder ON documents (folder);

-- What documents keep, one for each upload: the original and its text.
CREATE TABLE contents (
	document TEXT NOT NULL,
	version  INTEGER NOT NULL,
	owner    TEXT NOT NULL, -- who uploaded it
	size     INTEGER NOT NULL,
	PRIMARY KEY (document, version)
) WITHOUT ROWID;

-- Files whose work has not ended.
CREATE TABLE work (
	job     TEXT NOT NULL,
	file    INTEGER NOT NULL,
	owner   TEXT NOT NULL DEFAULT '', -- '' until the job is requested
	size    INTEGER NOT NULL,
	makes   INTEGER NOT NULL, -- 1 where it is to become a document of its own
	under   TEXT NOT NULL,    -- folder that it goes to, or below; '' for none
	path    TEXT NOT NULL,    -- of the folder that it goes to
	space   TEXT NOT NULL,    -- name of the folder whose limits hold for it
	folders INTEGER NOT NULL, -- that may have to be made for it
	PRIMARY KEY (job, file)
) WITHOUT ROWID;
CREATE INDEX work_owner ON work (owner);
CREATE INDEX work_under ON work (under);
CREATE INDEX work_space ON work (space);

-- Files that came to nothing, whose originals are still to be swept.
CREATE TABLE failed (
	job   TEXT NOT NULL,
	file  INTEGER NOT NULL,
	owner TEXT NOT NULL,
	size  INTEGER NOT NULL,
	ended TEXT NOT NULL,
	PRIMARY KEY (job, file)
) WITHOUT ROWID;
CREATE INDEX failed_owner ON failed (owner, ended);

-- What deleted documents kept, whose originals are still to be swept.
CREATE TABLE removed (
	document TEXT NOT NULL,
	version  INTEGER NOT NULL,
	owner    TEXT NOT NULL,
	size     INTEGER NOT NULL,
	ended    TEXT NOT NULL,
	PRIMARY KEY (document, version)
) WITHOUT ROWID;
CREATE INDEX removed_owner ON removed (owner, ended);
