CREATE TABLE folders (
	id      TEXT PRIMARY KEY,
	parent  TEXT NOT NULL,
	name    TEXT NOT NULL,
	summary TEXT NOT NULL UNIQUE, -- id by which its summary is read
	deleted INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX folders_parent ON folders (parent, name);

-- Has a rowid, so that rows are stored in order of arrival. Ids are random, and in their
-- order almost every insert would write another page.
CREATE TABLE documents (
	id          TEXT NOT NULL PRIMARY KEY,
	folder      TEXT NOT NULL,
	name        TEXT NOT NULL,
	title       TEXT NOT NULL,
	description TEXT NOT NULL,
	summary     TEXT NOT NULL
);
CREATE INDEX documents_folder ON documents (folder, title, id);

-- Unfinished files, by target folder: an existing folder, by its id, and the path from
-- there.
CREATE TABLE busy (
	job   TEXT NOT NULL,
	file  INTEGER NOT NULL,
	under TEXT NOT NULL, -- '' for the top level
	rest  TEXT NOT NULL, -- '' for the folder itself
	owner TEXT NOT NULL DEFAULT '', -- '' until the job is requested
	PRIMARY KEY (job, file)
) WITHOUT ROWID;
