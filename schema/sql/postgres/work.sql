-- The files whose work has not ended yet.
CREATE TABLE files (
	job       TEXT COLLATE "C" NOT NULL,
	file      BIGINT NOT NULL,
	owner     TEXT COLLATE "C" NOT NULL DEFAULT '', -- none until the job is requested
	accepted  BIGINT NOT NULL,         -- position of the job's request
	PRIMARY KEY (job, file)
);
