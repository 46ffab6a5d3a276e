-- The signs as vec_bit of sqlite-vec expects them.
CREATE VIEW comparable AS SELECT row, document, bits AS code FROM signs;
-- There are no approximate indexes.
CREATE VIEW approximate AS SELECT '' AS engine WHERE 0;
CREATE VIEW lacking AS SELECT '' AS statement WHERE 0;
