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
