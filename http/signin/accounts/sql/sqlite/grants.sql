-- Whatever disables or deletes a user or changes the password also signs the user
-- out everywhere.
CREATE TRIGGER IF NOT EXISTS users_signed_out AFTER UPDATE OF password, disabled, deleted ON users
WHEN NEW.disabled OR NEW.deleted OR NEW.password <> OLD.password BEGIN
	DELETE FROM sessions WHERE user = NEW.name;
	DELETE FROM grants WHERE user = NEW.name;
	DELETE FROM devices WHERE user = NEW.name;
	DELETE FROM browsers WHERE user = NEW.name AND NEW.deleted;
END;

CREATE TRIGGER IF NOT EXISTS clients_removed AFTER DELETE ON clients BEGIN
	DELETE FROM grants WHERE client = OLD.id;
	DELETE FROM devices WHERE client = OLD.id;
END;
