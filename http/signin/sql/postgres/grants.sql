-- Who signed in to which program. Every secret is kept as its SHA-256 alone;
-- times are microseconds since 1970, UTC.

-- Programs that registered themselves.
CREATE TABLE clients (
	id       text   NOT NULL PRIMARY KEY,
	metadata text   NOT NULL,          -- JSON, as told to the program
	created  bigint NOT NULL,
	used     bigint NOT NULL DEFAULT 0 -- when somebody last signed in to it; 0: nobody did
);

-- Browsers in which somebody is signed in.
CREATE TABLE sessions (
	cookie        bytea  NOT NULL PRIMARY KEY, -- SHA-256
	"user"        text   NOT NULL,
	authenticated bigint NOT NULL,
	expires       bigint NOT NULL
);
CREATE INDEX sessions_of_user ON sessions ("user", authenticated);

-- Browsers in which somebody has signed in before; see browser.go.
CREATE TABLE browsers (
	cookie  bytea  NOT NULL PRIMARY KEY, -- SHA-256
	"user"  text   NOT NULL,
	created bigint NOT NULL
);
CREATE INDEX browsers_of_user ON browsers ("user", created);

-- Sign-ins to programs. A grant is redeemed by a code once, and by one refresh
-- token after the other from then on; tokens name it, and end with it. While it is
-- in use, its program at a host of the web need not ask anew.
CREATE TABLE grants (
	id            text   NOT NULL PRIMARY KEY,
	"user"        text   NOT NULL,
	client        text   NOT NULL,
	name          text   NOT NULL, -- of the client, as the user was told
	audience      text   NOT NULL,
	scope         text   NOT NULL,
	authenticated bigint NOT NULL, -- when the user gave the password
	created       bigint NOT NULL,
	used          bigint NOT NULL DEFAULT 0, -- when it last gave tokens
	code          bytea  NOT NULL DEFAULT '', -- SHA-256
	redirect      text   NOT NULL DEFAULT '',
	challenge     text   NOT NULL DEFAULT '',
	nonce         text   NOT NULL DEFAULT '',
	refresh       bytea  NOT NULL DEFAULT '', -- SHA-256 of the token that is good; empty: there is none
	expires       bigint NOT NULL, -- unless it is used before
	ends          bigint NOT NULL  -- whatever happens
);
CREATE INDEX grants_of_user ON grants ("user", created);
CREATE INDEX grants_of_client ON grants (client);
CREATE INDEX grants_by_end ON grants (expires);

-- Sign-ins from devices without a browser that wait for their user.
CREATE TABLE devices (
	code          bytea  NOT NULL PRIMARY KEY, -- SHA-256
	user_code     bytea  NOT NULL UNIQUE,      -- SHA-256
	client        text   NOT NULL,
	audience      text   NOT NULL,
	scope         text   NOT NULL,
	pause         bigint NOT NULL,             -- between two questions, in microseconds
	asked         bigint NOT NULL DEFAULT 0,   -- when the device last asked
	decision      text   NOT NULL DEFAULT '',  -- 'allow' or 'deny'; '' while there is none
	"user"        text   NOT NULL DEFAULT '',
	authenticated bigint NOT NULL DEFAULT 0,
	expires       bigint NOT NULL
);

-- A user who is disabled or deleted, or whose password is changed, is signed
-- out everywhere by whatever does it. The order matters: what others begin at
-- this moment holds the row that it comes from, so that its session is waited
-- for, then its device, and what they led to is seen by the statements after.
CREATE FUNCTION users_signed_out() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
	DELETE FROM sessions WHERE "user" = NEW.name;
	DELETE FROM devices WHERE "user" = NEW.name;
	DELETE FROM grants WHERE "user" = NEW.name;
	DELETE FROM browsers WHERE "user" = NEW.name AND NEW.deleted;
	RETURN NULL;
END $$;
CREATE TRIGGER users_signed_out AFTER UPDATE OF password, disabled, deleted ON users
FOR EACH ROW WHEN (NEW.disabled OR NEW.deleted OR NEW.password <> OLD.password)
EXECUTE FUNCTION users_signed_out();

CREATE FUNCTION clients_removed() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
	DELETE FROM grants WHERE client = OLD.id;
	DELETE FROM devices WHERE client = OLD.id;
	RETURN NULL;
END $$;
CREATE TRIGGER clients_removed AFTER DELETE ON clients
FOR EACH ROW EXECUTE FUNCTION clients_removed();
