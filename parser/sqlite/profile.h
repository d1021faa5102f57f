#pragma once

#include <cstdint>
#include <string>

#include "parser/sqlite/database.h"
#include "trace/diagnostic.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Whether the database is a profile that writeSqlite() wrote.
bool isSqliteProfile(const SqliteDatabase& database);

/// Adds it to `timeline`. Rows that make no sense, and rows after a damaged page, are counted in
/// `diagnostics` under the name `file`. Throws Error when a table cannot be read.
void readSqliteProfile(const SqliteDatabase& database, const std::string& file, Timeline& timeline,
                       Diagnostics& diagnostics);

}  // namespace pipetrace
