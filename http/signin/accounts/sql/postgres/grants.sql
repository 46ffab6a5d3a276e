-- Whatever disables or deletes a user or changes the password also signs the user
-- out everywhere. The order matters: a concurrent sign-in locks the row from which
-- it starts (a session, then a device). Deleting that row waits for the lock, and
-- the next statement then sees the rows that the sign-in has created.
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
