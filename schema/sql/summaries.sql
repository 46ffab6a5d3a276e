CREATE TABLE folders (
	id      TEXT PRIMARY KEY,
	parent  TEXT NOT NULL,
	name    TEXT NOT NULL,
	summary TEXT NOT NULL UNIQUE, -- id by which clients read the summary of the folder
	deleted INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX folders_parent ON folders (parent, name);

-- This table keeps its rowid, so that rows are stored in order of arrival. Stored in
-- the order of their ids, which are random, almost every new row would go to another
-- page.
CREATE TABLE documents (
	id          TEXT NOT NULL PRIMARY KEY,
	folder      TEXT NOT NULL,
	name        TEXT NOT NULL,
	title       TEXT NOT NULL,
	description TEXT NOT NULL,
	summary     TEXT NOT NULL
);
CREATE INDEX documents_folder ON documents (folder, title, id);

-- Unfinished files and their target folders. The target folder is at the path rest
-- below the existing folder under.
CREATE TABLE busy (
	job   TEXT NOT NULL,
	file  INTEGER NOT NULL,
	under TEXT NOT NULL, -- id of an existing folder; '' for the top level
	rest  TEXT NOT NULL, -- path from there; '' if under is the target folder
	owner TEXT NOT NULL DEFAULT '', -- '' until ImportRequested
	PRIMARY KEY (job, file)
) WITHOUT ROWID;
