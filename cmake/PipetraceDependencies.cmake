# Finds the packages that the chosen options need. A missing one is an error that names the Debian
# package.
find_package(Threads REQUIRED)
if(PIPETRACE_PROFILER_ONLY)
  include(PipetraceCuda)
  return()
endif()
find_package(PkgConfig)

macro(pipetrace_need FOUND WHAT PACKAGE)
  if(NOT ${FOUND})
    message(FATAL_ERROR "PipeTrace needs ${WHAT}: apt-get install ${PACKAGE}")
  endif()
endmacro()

pipetrace_need(PKG_CONFIG_FOUND "pkg-config" pkg-config)
find_package(nlohmann_json 3 QUIET)
pipetrace_need(nlohmann_json_FOUND "nlohmann/json" nlohmann-json3-dev)
find_package(fmt QUIET)
pipetrace_need(fmt_FOUND "fmt" libfmt-dev)
find_package(CLI11 QUIET)
pipetrace_need(CLI11_FOUND "CLI11" libcli11-dev)
find_package(ZLIB QUIET)
pipetrace_need(ZLIB_FOUND "zlib" zlib1g-dev)
pkg_check_modules(ZSTD QUIET IMPORTED_TARGET libzstd)
pipetrace_need(ZSTD_FOUND "zstd" libzstd-dev)
pkg_check_modules(RE2 QUIET IMPORTED_TARGET re2) # Debian ships re2.pc and no CMake file
pipetrace_need(RE2_FOUND "RE2" libre2-dev)
find_path(PIPETRACE_PROTOZERO_INCLUDE protozero/pbf_reader.hpp) # headers only
pipetrace_need(PIPETRACE_PROTOZERO_INCLUDE "protozero" libprotozero-dev)
find_package(SQLite3 QUIET)
pipetrace_need(SQLite3_FOUND "SQLite" libsqlite3-dev)

if(PIPETRACE_VIEWER)
  find_package(Qt6 QUIET COMPONENTS Widgets Test)
  pipetrace_need(Qt6_FOUND "Qt 6 Widgets for PIPETRACE_VIEWER=ON" qt6-base-dev)
  # Macros of QFINDTESTDATA, which nothing here uses, have the path of the clone. With them clones
  # would share no object of these tests (ccache).
  set_target_properties(Qt6::Test PROPERTIES INTERFACE_COMPILE_DEFINITIONS QT_TESTLIB_LIB)
endif()

if(PIPETRACE_RUNTIME)
  find_package(yaml-cpp QUIET)
  pipetrace_need(yaml-cpp_FOUND "yaml-cpp" libyaml-cpp-dev)
  include(PipetraceTorch)
  pkg_check_modules(ICU QUIET IMPORTED_TARGET icu-uc)
  pipetrace_need(ICU_FOUND "ICU for PIPETRACE_RUNTIME=ON" libicu-dev)
endif()

include(PipetraceCuda)

if(PIPETRACE_BENCHMARKS)
  find_package(benchmark QUIET)
  pipetrace_need(benchmark_FOUND "Google Benchmark for PIPETRACE_BENCHMARKS=ON" libbenchmark-dev)
endif()

if(PIPETRACE_TESTS)
  find_package(GTest QUIET)
  pipetrace_need(GTest_FOUND "GoogleTest and GoogleMock" "libgtest-dev libgmock-dev")
  pkg_check_modules(HTTPLIB QUIET IMPORTED_TARGET cpp-httplib)
  pipetrace_need(HTTPLIB_FOUND "cpp-httplib" libcpp-httplib-dev)
endif()
