-- What a sign-in takes besides a password, and what keeps guessers and floods of
-- registrations at bay.

-- Keys that this service alone knows: 'seal' signs what it hands out.
CREATE TABLE secrets (
	name  TEXT NOT NULL PRIMARY KEY,
	value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Sealed texts that were used and must not be again, by id, until they expire.
CREATE TABLE spent (
	id      TEXT    NOT NULL PRIMARY KEY,
	expires INTEGER NOT NULL -- microseconds since 1970, UTC
) STRICT, WITHOUT ROWID;

CREATE TABLE factors (
	"user"   TEXT    NOT NULL PRIMARY KEY,
	required BOOLEAN NOT NULL DEFAULT false,   -- a second factor, by an operator
	handle   BLOB    NOT NULL,             -- random bytes that name the user to passkeys
	secret   TEXT    NOT NULL DEFAULT '',  -- of one-time codes, base32; '' without them
	step     INTEGER NOT NULL DEFAULT 0    -- of the last code that was used
) STRICT, WITHOUT ROWID;

CREATE TABLE passkeys (
	id         BLOB    NOT NULL PRIMARY KEY,
	"user"     TEXT    NOT NULL,
	name       TEXT    NOT NULL,             -- by its user
	credential TEXT    NOT NULL,             -- JSON: the public key and what belongs to it
	created    INTEGER NOT NULL,
	used       INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX passkeys_of_user ON passkeys ("user", created);

CREATE TABLE recovery (
	code BLOB NOT NULL PRIMARY KEY, -- SHA-256
	"user" TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX recovery_of_user ON recovery ("user");

-- One-time links by which users set a password.
CREATE TABLE links (
	code    BLOB    NOT NULL PRIMARY KEY, -- SHA-256
	"user"  TEXT    NOT NULL UNIQUE,
	expires INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- From where programs register and devices ask, as a keyed digest.
ALTER TABLE clients ADD COLUMN origin BLOB NOT NULL DEFAULT x'';
ALTER TABLE devices ADD COLUMN origin BLOB NOT NULL DEFAULT x'';
