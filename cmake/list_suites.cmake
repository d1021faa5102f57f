# cmake -D PROGRAM=... -D FILE=... -P list_suites.cmake: writes FILE for CTest, with a test for each
# suite of the GoogleTest program. FILE.properties has the properties of all of them.
set(most 20) # cases of a test: a longer suite is several, which run side by side

execute_process(COMMAND "${PROGRAM}" --gtest_list_tests OUTPUT_VARIABLE list
                RESULT_VARIABLE code ERROR_VARIABLE error TIMEOUT 60)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} does not list its tests (${code}): ${list}${error}")
endif()
file(READ "${FILE}.properties" properties)

set(text "")
# add_suite(NAME COUNT): the tests of a suite with that many cases.
function(add_suite suite count)
  math(EXPR parts "(${count} + ${most} - 1) / ${most}")
  foreach(part RANGE 1 ${parts})
    set(name "${suite}")
    set(environment "PIPETRACE_SKIPPED_CODE=77")
    set(cases ${count})
    if(parts GREATER 1)
      string(APPEND name " (${part} of ${parts})")
      math(EXPR index "${part} - 1")
      math(EXPR cases "${count} / ${parts}")
      list(APPEND environment "GTEST_TOTAL_SHARDS=${parts}" "GTEST_SHARD_INDEX=${index}")
    endif()
    string(REPLACE "ENVIRONMENT [==[" "ENVIRONMENT [==[${environment};" own "${properties}")
    string(REPLACE ";]==]" "]==]" own "${own}")
    # Without figures of an earlier run CTest starts with those of the highest cost.
    string(APPEND text "add_test([==[${name}]==] [==[${PROGRAM}]==] [==[--gtest_filter=${suite}.*]==])\n"
                       "set_tests_properties([==[${name}]==] PROPERTIES SKIP_RETURN_CODE 77"
                       " COST ${cases} ${own})\n")
  endforeach()
  set(text "${text}" PARENT_SCOPE)
endfunction()

string(REGEX REPLACE " *#[^\n]*" "" list "${list}") # values of parameters
string(REPLACE "\n" ";" list "${list}")
set(suite "")
set(count 0)
foreach(line IN LISTS list ITEMS "end.")
  if(line MATCHES "^  ")
    math(EXPR count "${count} + 1")
  elseif(line MATCHES "^([^ ]+)\\.$")
    set(next "${CMAKE_MATCH_1}")
    if(count GREATER 0)
      add_suite("${suite}" ${count})
    endif()
    set(suite "${next}")
    set(count 0)
  endif()
endforeach()
file(WRITE "${FILE}" "${text}")
