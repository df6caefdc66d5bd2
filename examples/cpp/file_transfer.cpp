// File transfer: copy a file of the host into a sandbox, process it, and copy the result back.
#include <cloche/sandbox_manager.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

namespace {

namespace fs = std::filesystem;

// A directory of the host that is removed with the object.
class Scratch {
 public:
  Scratch() {
    std::string name = (fs::temp_directory_path() / "cloche-example-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make " + name);
    path_ = name;
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string read(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

void example() {
  const Scratch scratch;
  std::ofstream(scratch.path() / "input.txt") << "Input data\n";

  cloche::SandboxClient client;
  client.create();
  client.write_file("process.py",
                    "import os\n"
                    "os.makedirs('results/deep')\n"
                    "text = open('input.txt').read()\n"
                    "open('results/upper.txt', 'w').write(text.upper())\n"
                    "open('results/deep/length.txt', 'w').write(f'{len(text)}\\n')\n"
                    "os.symlink('/etc/passwd', 'results/link')\n");
  client.copy_to(scratch.path() / "input.txt", "/workspace/input.txt");
  client.run_command("python3 process.py");

  // Copies a whole directory. Files from a sandbox are not trusted: links are left out and listed.
  const cloche::CopyReport report = client.copy_from("/workspace/results", scratch.path() / "results");
  client.cleanup();

  std::cout << "copied " << report.files << " files, " << to_string(report.bytes) << "; left out "
            << report.left_out.at(0) << "\n"
            << read(scratch.path() / "results/upper.txt") << read(scratch.path() / "results/deep/length.txt");
}

}  // namespace

int main() {
  try {
    example();
    return 0;
  } catch (const std::exception& error) {
    // Cloche itself failed; the message says why.
    std::cerr << error.what() << "\n";
    return 1;
  }
}

// Prints:
//
//   copied 2 files, 14 B; left out link
//   INPUT DATA
//   11
