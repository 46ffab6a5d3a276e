-- What a sign-in takes besides a password, and what keeps guessers and floods of
-- registrations at bay.

-- Keys that this service alone knows: 'seal' signs what it hands out.
CREATE TABLE secrets (
	name  text  NOT NULL PRIMARY KEY,
	value bytea NOT NULL
);

-- Sealed texts that were used and must not be again, by id, until they expire.
CREATE TABLE spent (
	id      text   NOT NULL PRIMARY KEY,
	expires bigint NOT NULL -- microseconds since 1970, UTC
);

CREATE TABLE factors (
	"user"   text    NOT NULL PRIMARY KEY,
	required boolean NOT NULL DEFAULT false, -- a second factor, by an operator
	handle   bytea   NOT NULL,               -- random bytes that name the user to passkeys
	secret   text    NOT NULL DEFAULT '',    -- of one-time codes, base32; '' without them
	step     bigint  NOT NULL DEFAULT 0      -- of the last code that was used
);

CREATE TABLE passkeys (
	id         bytea  NOT NULL PRIMARY KEY,
	"user"     text   NOT NULL,
	name       text   NOT NULL,             -- by its user
	credential text   NOT NULL,             -- JSON: the public key and what belongs to it
	created    bigint NOT NULL,
	used       bigint NOT NULL DEFAULT 0
);
CREATE INDEX passkeys_of_user ON passkeys ("user", created);

CREATE TABLE recovery (
	code   bytea NOT NULL PRIMARY KEY, -- SHA-256
	"user" text  NOT NULL
);
CREATE INDEX recovery_of_user ON recovery ("user");

-- One-time links by which users set a password.
CREATE TABLE links (
	code    bytea  NOT NULL PRIMARY KEY, -- SHA-256
	"user"  text   NOT NULL UNIQUE,
	expires bigint NOT NULL
);

-- From where programs register and devices ask, as a keyed digest.
ALTER TABLE clients ADD COLUMN origin bytea NOT NULL DEFAULT '';
ALTER TABLE devices ADD COLUMN origin bytea NOT NULL DEFAULT '';

CREATE FUNCTION users_links_ended() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
	DELETE FROM links WHERE "user" = NEW.name;
	IF NEW.deleted THEN
		DELETE FROM factors WHERE "user" = NEW.name;
		DELETE FROM passkeys WHERE "user" = NEW.name;
		DELETE FROM recovery WHERE "user" = NEW.name;
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER users_links_ended AFTER UPDATE OF password, disabled, deleted ON users
FOR EACH ROW WHEN (NEW.disabled OR NEW.deleted OR NEW.password <> OLD.password)
EXECUTE FUNCTION users_links_ended();
