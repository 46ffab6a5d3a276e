-- Files that nodes have to import: accepted, not imported and not failed yet.
CREATE TABLE files (
	job       TEXT NOT NULL,
	file      INTEGER NOT NULL,
	owner     TEXT NOT NULL DEFAULT '', -- '' until ImportRequested
	accepted  INTEGER NOT NULL,         -- position of the ImportRequested event
	PRIMARY KEY (job, file)
) WITHOUT ROWID;
