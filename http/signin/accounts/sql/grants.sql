-- Clients, sessions, grants and devices. Secrets are stored only as their SHA-256;
-- times are microseconds since 1970, UTC.

-- Programs that registered themselves.
CREATE TABLE IF NOT EXISTS clients (
	id       TEXT    NOT NULL PRIMARY KEY,
	metadata TEXT    NOT NULL,          -- JSON, as returned by the registration
	created  INTEGER NOT NULL,
	used     INTEGER NOT NULL DEFAULT 0 -- last sign-in of a user to it; 0: never
) STRICT, WITHOUT ROWID;

-- Browsers in which a user is signed in.
CREATE TABLE IF NOT EXISTS sessions (
	cookie        BLOB    NOT NULL PRIMARY KEY, -- SHA-256
	"user"        TEXT    NOT NULL,
	authenticated INTEGER NOT NULL,
	expires       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS sessions_of_user ON sessions ("user", authenticated);

-- Browsers in which a user has signed in before; see browsers.go.
CREATE TABLE IF NOT EXISTS browsers (
	cookie  BLOB    NOT NULL PRIMARY KEY, -- SHA-256
	"user"  TEXT    NOT NULL,
	created INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS browsers_of_user ON browsers ("user", created);

-- Sign-ins to programs. A grant is redeemed with a code once, and then with one
-- refresh token after the other. Access tokens name it and end with it. While a
-- redeemed grant exists, a program on the web needs no further consent.
CREATE TABLE IF NOT EXISTS grants (
	id            TEXT    NOT NULL PRIMARY KEY,
	"user"        TEXT    NOT NULL,
	client        TEXT    NOT NULL,
	name          TEXT    NOT NULL, -- of the client, as the consent page showed it
	audience      TEXT    NOT NULL,
	scope         TEXT    NOT NULL,
	authenticated INTEGER NOT NULL, -- when the user signed in
	created       INTEGER NOT NULL,
	used          INTEGER NOT NULL DEFAULT 0, -- when tokens were last issued for it
	code          BLOB    NOT NULL DEFAULT x'', -- SHA-256
	redirect      TEXT    NOT NULL DEFAULT '',
	challenge     TEXT    NOT NULL DEFAULT '',
	nonce         TEXT    NOT NULL DEFAULT '',
	refresh       BLOB    NOT NULL DEFAULT x'', -- SHA-256 of the current refresh token; empty: none
	expires       INTEGER NOT NULL, -- unless the refresh token is used before
	ends          INTEGER NOT NULL  -- the latest time to which expires can be extended
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS grants_of_user ON grants ("user", created);
CREATE INDEX IF NOT EXISTS grants_of_client ON grants (client);
CREATE INDEX IF NOT EXISTS grants_by_end ON grants (expires);

-- Sign-ins of devices without a browser that wait for their user's decision.
CREATE TABLE IF NOT EXISTS devices (
	code          BLOB    NOT NULL PRIMARY KEY, -- SHA-256
	user_code     BLOB    NOT NULL UNIQUE,      -- SHA-256
	client        TEXT    NOT NULL,
	audience      TEXT    NOT NULL,
	scope         TEXT    NOT NULL,
	pause         INTEGER NOT NULL,             -- between two polls, in microseconds
	asked         INTEGER NOT NULL DEFAULT 0,   -- last poll of the device
	decision      TEXT    NOT NULL DEFAULT '',  -- 'allow' or 'deny'; '' while there is none
	"user"        TEXT    NOT NULL DEFAULT '',
	authenticated INTEGER NOT NULL DEFAULT 0,
	expires       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
