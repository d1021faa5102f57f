#pragma once

#include <string_view>

/// The tables of our SQLite profile (docs/profile-format.md), for its writer and its reader.
namespace pipetrace::sqlite_format {

inline constexpr int kVersion = 1;

// Keys of the table meta.
inline constexpr std::string_view kFormat = "format";
inline constexpr std::string_view kOurs = "pipetrace";  ///< the same object as in Chrome JSON

// The value of a sample has no type, because SQLite would store a whole REAL as an integer, which
// loses -0.0.
inline constexpr std::string_view kTables[] = {
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID",
    "CREATE TABLE track (id INTEGER PRIMARY KEY, rank INTEGER NOT NULL, lane TEXT NOT NULL)",
    "CREATE TABLE job (id INTEGER PRIMARY KEY, track INTEGER NOT NULL REFERENCES track, "
    "rank INTEGER NOT NULL, lane TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, "
    "begin_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL, duration_ns INTEGER NOT NULL, "
    "step INTEGER, micro_batch INTEGER, stage INTEGER, chunk INTEGER, part INTEGER, "
    "number INTEGER, job INTEGER, peer INTEGER, own_name INTEGER NOT NULL, arguments TEXT, "
    "phase TEXT)",
    "CREATE TABLE bubble (id INTEGER PRIMARY KEY, track INTEGER NOT NULL REFERENCES track, "
    "rank INTEGER NOT NULL, lane TEXT NOT NULL, class TEXT, name TEXT NOT NULL, "
    "begin_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL, duration_ns INTEGER NOT NULL, "
    "step INTEGER, micro_batch INTEGER, stage INTEGER, chunk INTEGER, part INTEGER, "
    "number INTEGER, job INTEGER, peer INTEGER, own_name INTEGER NOT NULL, arguments TEXT, "
    "phase TEXT)",
    "CREATE TABLE step (step INTEGER NOT NULL, replica INTEGER NOT NULL, "
    "begin_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL, duration_ns INTEGER NOT NULL, "
    "window_ns INTEGER NOT NULL, between_steps_ns INTEGER NOT NULL, phase TEXT)",
    "CREATE TABLE counter (id INTEGER PRIMARY KEY, rank INTEGER NOT NULL, name TEXT NOT NULL, "
    "time_ns INTEGER NOT NULL, value NOT NULL)",
};

}  // namespace pipetrace::sqlite_format
