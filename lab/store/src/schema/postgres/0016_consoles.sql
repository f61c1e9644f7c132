-- The last output of the console of the machine that was booted for an attempt: its kernel's and the emulator's. Absent where the outcome has it.
CREATE TABLE console (
    attempt_id BIGINT PRIMARY KEY REFERENCES attempt (id),
    text       TEXT NOT NULL             -- at most 16 KiB, without control characters
);
