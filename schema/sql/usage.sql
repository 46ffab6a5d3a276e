-- What each user has the service keep and do: the sums of contents and
-- documents, and of files in work.
CREATE TABLE users (
	principal      TEXT PRIMARY KEY,
	bytes          INTEGER NOT NULL DEFAULT 0, -- of originals and their text, in all versions of documents
	documents      INTEGER NOT NULL DEFAULT 0,
	work_files     INTEGER NOT NULL DEFAULT 0,
	work_bytes     INTEGER NOT NULL DEFAULT 0,
	work_documents INTEGER NOT NULL DEFAULT 0, -- that they are to become
	work_folders   INTEGER NOT NULL DEFAULT 0  -- that may have to be made for them
) WITHOUT ROWID;

-- What lies in a space, or is in work for it: by the id of its folder, or by '/'
-- and its name for what is in work and names no folder that exists.
CREATE TABLE spaces (
	space     TEXT PRIMARY KEY,
	bytes     INTEGER NOT NULL,
	documents INTEGER NOT NULL
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
CREATE INDEX work_under ON work (under);

-- Folders that files in work may have to make, each once for all of its files.
CREATE TABLE making (
	owner   TEXT NOT NULL,
	under   TEXT NOT NULL,
	path    TEXT NOT NULL,
	folders INTEGER NOT NULL,
	files   INTEGER NOT NULL,
	PRIMARY KEY (owner, under, path, folders)
) WITHOUT ROWID;

-- What is kept until its originals are swept, by the hour in which that began.
CREATE TABLE unswept (
	owner   TEXT NOT NULL,
	hour    TEXT NOT NULL,
	failed  INTEGER NOT NULL, -- bytes of files that came to nothing
	deleted INTEGER NOT NULL, -- bytes of deleted documents, with their text
	PRIMARY KEY (owner, hour)
) WITHOUT ROWID;
