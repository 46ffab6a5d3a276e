-- The users of the built-in sign-in and the keys that sign tokens. The row of a
-- deleted user is kept without its data, so that the name cannot be used again.
CREATE TABLE IF NOT EXISTS users (
	name     TEXT COLLATE BINARY NOT NULL PRIMARY KEY,
	password TEXT    NOT NULL, -- argon2id in PHC notation; '' if deleted
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
