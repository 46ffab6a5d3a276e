-- Limits that operators set for single users, in place of the general ones.
CREATE TABLE quotas (
	"user" text NOT NULL PRIMARY KEY,
	limits text NOT NULL -- JSON object of numbers
);
