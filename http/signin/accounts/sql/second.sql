-- Second factors, and protection against guessing and floods of registrations.

-- Secret keys of this service. The key 'seal' signs sealed texts.
CREATE TABLE secrets (
	name  TEXT NOT NULL PRIMARY KEY,
	value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Ids of sealed texts that cannot be used again, until they expire.
CREATE TABLE spent (
	id      TEXT    NOT NULL PRIMARY KEY,
	expires INTEGER NOT NULL -- microseconds since 1970, UTC
) STRICT, WITHOUT ROWID;

CREATE TABLE factors (
	"user"   TEXT    NOT NULL PRIMARY KEY,
	required BOOLEAN NOT NULL DEFAULT false,   -- an operator requires a second factor
	handle   BLOB    NOT NULL,             -- random bytes by which passkeys identify the user
	secret   TEXT    NOT NULL DEFAULT '',  -- of one-time codes, base32; '' if they are off
	step     INTEGER NOT NULL DEFAULT 0    -- time step of the last code that was used
) STRICT, WITHOUT ROWID;

CREATE TABLE passkeys (
	id         BLOB    NOT NULL PRIMARY KEY,
	"user"     TEXT    NOT NULL,
	name       TEXT    NOT NULL,             -- chosen by the user
	credential TEXT    NOT NULL,             -- JSON: public key, signature counter and more
	created    INTEGER NOT NULL,
	used       INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX passkeys_of_user ON passkeys ("user", created);

CREATE TABLE recovery (
	code BLOB NOT NULL PRIMARY KEY, -- SHA-256
	"user" TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX recovery_of_user ON recovery ("user");

-- One-time links with which users set a password.
CREATE TABLE links (
	code    BLOB    NOT NULL PRIMARY KEY, -- SHA-256
	"user"  TEXT    NOT NULL UNIQUE,
	expires INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Keyed hash of the address from which a client was registered or a device sign-in
-- was started.
ALTER TABLE clients ADD COLUMN origin BLOB NOT NULL DEFAULT x'';
ALTER TABLE devices ADD COLUMN origin BLOB NOT NULL DEFAULT x'';
