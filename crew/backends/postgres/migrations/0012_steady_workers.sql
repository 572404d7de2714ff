-- Since when each heartbeat of a worker came in time: while those of one do, the database was there,
-- and one that does not come is its worker's fault.
ALTER TABLE crew_workers ADD COLUMN since timestamptz NOT NULL DEFAULT now();
