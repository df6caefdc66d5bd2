#include "cloche/version.hpp"

namespace cloche {

namespace {

#define CLOCHE_TEXT_OF(number) #number
#define CLOCHE_TEXT(number) CLOCHE_TEXT_OF(number)
constexpr std::string_view by_numbers =
    CLOCHE_TEXT(CLOCHE_VERSION_MAJOR) "." CLOCHE_TEXT(CLOCHE_VERSION_MINOR) "." CLOCHE_TEXT(CLOCHE_VERSION_PATCH);

static_assert(by_numbers == CLOCHE_PROJECT_VERSION, "cloche/version.hpp and project() in CMakeLists.txt differ");
static_assert(by_numbers == CLOCHE_VERSION, "CLOCHE_VERSION is not its three numbers");

}  // namespace

std::string_view version() { return CLOCHE_VERSION; }

}  // namespace cloche
