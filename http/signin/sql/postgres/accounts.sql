-- The built-in provider's store. A deleted user's row stays, emptied, so that
-- a name is never given twice.
CREATE TABLE users (
	name     text    COLLATE "C" NOT NULL PRIMARY KEY,
	password text    NOT NULL, -- argon2id in PHC notation, '' once deleted
	admin    boolean NOT NULL,
	groups   text    NOT NULL, -- JSON array of names, sorted
	disabled boolean NOT NULL DEFAULT false,
	deleted  boolean NOT NULL DEFAULT false,
	created  bigint  NOT NULL  -- microseconds since 1970, UTC
);

CREATE TABLE keys (
	id      text   NOT NULL PRIMARY KEY, -- RFC 7638 thumbprint
	private bytea  NOT NULL,             -- PKCS #8
	created bigint NOT NULL              -- microseconds since 1970, UTC
);
