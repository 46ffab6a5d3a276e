CREATE TABLE folders (
	id      TEXT PRIMARY KEY,
	parent  TEXT NOT NULL,
	name    TEXT NOT NULL,
	summary TEXT NOT NULL UNIQUE, -- id under which its summary is read
	deleted INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX folders_parent ON folders (parent, name);

-- In order of arrival, not of ids: those are random, and an insert among them
-- would write a page of its own.
CREATE TABLE documents (
	id          TEXT NOT NULL PRIMARY KEY,
	folder      TEXT NOT NULL,
	name        TEXT NOT NULL,
	title       TEXT NOT NULL,
	description TEXT NOT NULL,
	summary     TEXT NOT NULL
);
CREATE INDEX documents_folder ON documents (folder, title, id);

-- Files that jobs still work on, by the folder that they go to: the path of it
-- from one that stays the same however it is renamed or moved.
CREATE TABLE busy (
	job   TEXT NOT NULL,
	file  INTEGER NOT NULL,
	under TEXT NOT NULL, -- '' for the top level
	rest  TEXT NOT NULL, -- '' for the folder itself
	owner TEXT NOT NULL DEFAULT '', -- none until the job is requested
	PRIMARY KEY (job, file)
) WITHOUT ROWID;
