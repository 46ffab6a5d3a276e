-- Limits that operators set for a user. They replace the general limits.
CREATE TABLE quotas (
	"user" TEXT NOT NULL PRIMARY KEY,
	limits TEXT NOT NULL -- JSON object of numbers
) STRICT, WITHOUT ROWID;
