-- Who signed in to which program. Every secret is kept as its SHA-256 alone;
-- times are microseconds since 1970, UTC.
-- Programs that registered themselves.
CREATE TABLE IF NOT EXISTS clients (
	id       TEXT    NOT NULL PRIMARY KEY,
	metadata TEXT    NOT NULL,          -- JSON, as told to the program
	created  INTEGER NOT NULL,
	used     INTEGER NOT NULL DEFAULT 0 -- when somebody last signed in to it; 0: nobody did
) STRICT, WITHOUT ROWID;

-- Browsers in which somebody is signed in.
CREATE TABLE IF NOT EXISTS sessions (
	cookie        BLOB    NOT NULL PRIMARY KEY, -- SHA-256
	"user"        TEXT    NOT NULL,
	authenticated INTEGER NOT NULL,
	expires       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS sessions_of_user ON sessions ("user", authenticated);

-- Browsers in which somebody has signed in before; see browser.go.
CREATE TABLE IF NOT EXISTS browsers (
	cookie  BLOB    NOT NULL PRIMARY KEY, -- SHA-256
	"user"  TEXT    NOT NULL,
	created INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS browsers_of_user ON browsers ("user", created);

-- Sign-ins to programs. A grant is redeemed by a code once, and by one refresh
-- token after the other from then on; tokens name it, and end with it. While it is
-- in use, its program at a host of the web need not ask anew.
CREATE TABLE IF NOT EXISTS grants (
	id            TEXT    NOT NULL PRIMARY KEY,
	"user"        TEXT    NOT NULL,
	client        TEXT    NOT NULL,
	name          TEXT    NOT NULL, -- of the client, as the user was told
	audience      TEXT    NOT NULL,
	scope         TEXT    NOT NULL,
	authenticated INTEGER NOT NULL, -- when the user gave the password
	created       INTEGER NOT NULL,
	used          INTEGER NOT NULL DEFAULT 0, -- when it last gave tokens
	code          BLOB    NOT NULL DEFAULT x'', -- SHA-256
	redirect      TEXT    NOT NULL DEFAULT '',
	challenge     TEXT    NOT NULL DEFAULT '',
	nonce         TEXT    NOT NULL DEFAULT '',
	refresh       BLOB    NOT NULL DEFAULT x'', -- SHA-256 of the token that is good; empty: there is none
	expires       INTEGER NOT NULL, -- unless it is used before
	ends          INTEGER NOT NULL  -- whatever happens
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS grants_of_user ON grants ("user", created);
CREATE INDEX IF NOT EXISTS grants_of_client ON grants (client);
CREATE INDEX IF NOT EXISTS grants_by_end ON grants (expires);

-- Sign-ins from devices without a browser that wait for their user.
CREATE TABLE IF NOT EXISTS devices (
	code          BLOB    NOT NULL PRIMARY KEY, -- SHA-256
	user_code     BLOB    NOT NULL UNIQUE,      -- SHA-256
	client        TEXT    NOT NULL,
	audience      TEXT    NOT NULL,
	scope         TEXT    NOT NULL,
	pause         INTEGER NOT NULL,             -- between two questions, in microseconds
	asked         INTEGER NOT NULL DEFAULT 0,   -- when the device last asked
	decision      TEXT    NOT NULL DEFAULT '',  -- 'allow' or 'deny'; '' while there is none
	"user"        TEXT    NOT NULL DEFAULT '',
	authenticated INTEGER NOT NULL DEFAULT 0,
	expires       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
