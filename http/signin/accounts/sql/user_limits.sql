-- Limits that operators set for single users, in place of the general ones.
CREATE TABLE quotas (
	"user" TEXT NOT NULL PRIMARY KEY,
	limits TEXT NOT NULL -- JSON object of numbers
) STRICT, WITHOUT ROWID;
