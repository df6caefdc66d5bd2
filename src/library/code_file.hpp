// The file that code is in before a code runner runs it: of this user's alone, and gone with the object.
#pragma once

#include <string>

namespace cloche::coderunner {

class CodeFile {
 public:
  // Below `folder`, which is made if need be. One that others may write to is refused: they could put other code in
  // place of this one. Throws CodeRunnerException.
  CodeFile(const std::string& folder, const std::string& extension, const std::string& code);
  CodeFile(const CodeFile&) = delete;
  CodeFile& operator=(const CodeFile&) = delete;
  ~CodeFile();

  const std::string& path() const { return path_; }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  std::string path_;
};

// The content of a file of the host. Throws CodeRunnerException if it cannot be read, is not a file or is too large.
std::string read_code(const std::string& path);

}  // namespace cloche::coderunner
