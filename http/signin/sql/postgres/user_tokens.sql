-- Tokens by which programs sign in as themselves, and accounts of services, which have
-- nothing else to sign in with. Times are microseconds since 1970, UTC.
ALTER TABLE users ADD COLUMN service boolean NOT NULL DEFAULT false;

CREATE TABLE tokens (
	hash    bytea  NOT NULL PRIMARY KEY, -- SHA-256
	id      text   NOT NULL UNIQUE,      -- by which people name it; no secret
	"user"  text   NOT NULL,
	scope   text   NOT NULL,
	note    text   NOT NULL,
	created bigint NOT NULL,
	expires bigint NOT NULL,
	used    bigint NOT NULL DEFAULT 0    -- to a minute or so; 0: never
);
CREATE INDEX tokens_of_user ON tokens ("user", created);
CREATE INDEX tokens_by_end ON tokens (expires);

CREATE FUNCTION users_tokens_ended() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
	DELETE FROM tokens WHERE "user" = NEW.name;
	RETURN NULL;
END $$;
CREATE TRIGGER users_tokens_ended AFTER UPDATE OF password, disabled, deleted ON users
FOR EACH ROW WHEN (NEW.disabled OR NEW.deleted OR NEW.password <> OLD.password)
EXECUTE FUNCTION users_tokens_ended();
