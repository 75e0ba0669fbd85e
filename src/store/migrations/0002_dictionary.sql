-- Nothing changes in the tables. From here on the body of a delivery may point into the dictionary of `parcel`, and a
-- Planwright that does not know it must not take this database for its own.
SELECT 1;
