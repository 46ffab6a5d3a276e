-- Unfinished files.
CREATE TABLE files (
	job       TEXT NOT NULL,
	file      INTEGER NOT NULL,
	owner     TEXT NOT NULL DEFAULT '', -- '' until the job is requested
	accepted  INTEGER NOT NULL,         -- position of ImportRequested
	PRIMARY KEY (job, file)
) WITHOUT ROWID;
