-- A function of SQLite, and two of sqlite-vec. PostgreSQL inlines all of them.
CREATE FUNCTION unhex(digits TEXT) RETURNS BYTEA LANGUAGE sql IMMUTABLE AS
	$$ SELECT decode(digits, 'hex') $$;
CREATE FUNCTION vec_bit(bits BYTEA) RETURNS BIT VARYING LANGUAGE sql IMMUTABLE AS
	$$ SELECT ('x' || encode(bits, 'hex'))::bit varying $$;
CREATE FUNCTION vec_bit(bits BIT VARYING) RETURNS BIT VARYING LANGUAGE sql IMMUTABLE AS
	$$ SELECT bits $$;
CREATE FUNCTION vec_distance_hamming(a BIT VARYING, b BIT VARYING) RETURNS BIGINT LANGUAGE sql IMMUTABLE AS
	$$ SELECT bit_count(a # b) $$;

-- The signs as bits. They are converted once, because a search reads all of them.
ALTER TABLE signs ADD COLUMN code BIT VARYING GENERATED ALWAYS AS (('x' || encode(bits, 'hex'))::bit varying) STORED;
CREATE VIEW comparable AS SELECT row, document, code FROM signs;
