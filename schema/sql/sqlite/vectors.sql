-- The signs as vec_bit of sqlite-vec expects them.
CREATE VIEW comparable AS SELECT row, document, bits AS code FROM signs;
