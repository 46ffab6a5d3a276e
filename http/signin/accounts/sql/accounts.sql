-- The built-in provider's store. A deleted user's row stays, emptied, so that
-- a name is never given twice.
CREATE TABLE IF NOT EXISTS users (
	name     TEXT COLLATE BINARY NOT NULL PRIMARY KEY,
	password TEXT    NOT NULL, -- argon2id in PHC notation, '' once deleted
	admin    BOOLEAN NOT NULL,
	groups   TEXT    NOT NULL, -- JSON array of names, sorted
	disabled BOOLEAN NOT NULL DEFAULT false,
	deleted  BOOLEAN NOT NULL DEFAULT false,
	created  INTEGER NOT NULL  -- microseconds since 1970, UTC
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS keys (
	id      TEXT    NOT NULL PRIMARY KEY, -- RFC 7638 thumbprint
	private BLOB    NOT NULL,             -- PKCS #8
	created INTEGER NOT NULL              -- microseconds since 1970, UTC
) STRICT;
