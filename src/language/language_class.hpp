// Which class of a Java source holds the program.
#pragma once

#include <string>
#include <string_view>

namespace cloche {

struct JavaClass {
  std::string name = "Main";
  std::string package;  // with dots; empty: none
};

// The public top-level type, else the first top-level type with a main method, else Main. Comments and literals are
// skipped. Any bytes are accepted, in one pass; for invalid Java the result is some name that the compiler then
// rejects.
JavaClass find_java_class(std::string_view source);

}  // namespace cloche
