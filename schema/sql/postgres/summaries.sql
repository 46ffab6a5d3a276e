CREATE TABLE folders (
	id      TEXT COLLATE "C" PRIMARY KEY,
	parent  TEXT COLLATE "C" NOT NULL,
	name    TEXT COLLATE "C" NOT NULL,
	summary TEXT COLLATE "C" NOT NULL UNIQUE, -- id under which its summary is read
	deleted BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX folders_parent ON folders (parent, name);

-- In order of arrival, not of ids: those are random, and an insert among them
-- would write a page of its own.
CREATE TABLE documents (
	id          TEXT COLLATE "C" NOT NULL PRIMARY KEY,
	folder      TEXT COLLATE "C" NOT NULL,
	name        TEXT COLLATE "C" NOT NULL,
	title       TEXT COLLATE "C" NOT NULL,
	description TEXT COLLATE "C" NOT NULL,
	summary     TEXT COLLATE "C" NOT NULL
);
CREATE INDEX documents_folder ON documents (folder, title, id);

-- Files that jobs still work on, by the folder that they go to: the path of it
-- from one that stays the same however it is renamed or moved.
CREATE TABLE busy (
	job   TEXT COLLATE "C" NOT NULL,
	file  BIGINT NOT NULL,
	under TEXT COLLATE "C" NOT NULL, -- '' for the top level
	rest  TEXT COLLATE "C" NOT NULL, -- '' for the folder itself
	owner TEXT COLLATE "C" NOT NULL DEFAULT '', -- none until the job is requested
	PRIMARY KEY (job, file)
);
