#pragma once

#include <cstdint>
#include <string>

#include "parser/sqlite_database.h"
#include "trace/diagnostic.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Whether the database is a profile that writeSqlite() wrote.
bool isSqliteProfile(const SqliteDatabase& database);

/// Adds it to `timeline`, and says how many events it held. Rows that make no sense, and whatever
/// is behind a damaged page, are counted in `diagnostics` under the name `file`.
std::int64_t readSqliteProfile(const SqliteDatabase& database, const std::string& file,
                               Timeline& timeline, Diagnostics& diagnostics);

}  // namespace pipetrace
