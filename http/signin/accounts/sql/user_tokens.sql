-- API tokens with which programs sign in, and services: accounts of programs, which have
-- no other credential. Times are microseconds since 1970, UTC.
ALTER TABLE users ADD COLUMN service BOOLEAN NOT NULL DEFAULT false;

CREATE TABLE tokens (
	hash    BLOB    NOT NULL PRIMARY KEY, -- SHA-256
	id      TEXT    NOT NULL UNIQUE,      -- shown to people; not secret
	"user"  TEXT    NOT NULL,
	scope   TEXT    NOT NULL,
	note    TEXT    NOT NULL,
	created INTEGER NOT NULL,
	expires INTEGER NOT NULL,
	used    INTEGER NOT NULL DEFAULT 0    -- accurate to about a minute; 0: never
) STRICT, WITHOUT ROWID;
CREATE INDEX tokens_of_user ON tokens ("user", created);
CREATE INDEX tokens_by_end ON tokens (expires);
