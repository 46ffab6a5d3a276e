-- The files whose work has not ended yet.
CREATE TABLE files (
	job       TEXT NOT NULL,
	file      INTEGER NOT NULL,
	owner     TEXT NOT NULL DEFAULT '', -- none until the job is requested
	accepted  INTEGER NOT NULL,         -- position of the job's request
	PRIMARY KEY (job, file)
) WITHOUT ROWID;
