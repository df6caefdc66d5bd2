// Execution: one piece of code in a kernel, and its answer: lines of JSON as they come.
#pragma once

#include <deque>
#include <string>

#include "context/call_result.hpp"
#include "dialect/e2b/data_call.hpp"
#include "dialect/e2b/interpreter/bodies.hpp"
#include "dialect/e2b/interpreter/kernels.hpp"

namespace cloche::dialect::e2b {

class Execution {
 public:
  // The call and the kernel's session outlive it.
  Execution(DataCall& call, const Kernel& kernel, ExecuteBody body);

  // Runs the code and answers. A client that goes away interrupts the code. Errors before the answer has begun are
  // returned; after that they are lines, or break the answer off.
  Task<Status> serve();

 private:
  struct Piece {
    enum class Kind { out, err, display } kind;
    std::string bytes;
  };

  Task<> run_to_its_end();
  Task<Status> run();
  Task<Status> write();
  Task<Status> send(Piece piece);
  Task<Status> send_text(std::string_view stream, std::string& pending, std::string bytes);
  void put(Piece piece);
  void report_end(const session::ContextResult& result);

  DataCall& call_;
  std::string id_;
  session::ContextLanguage language_;
  std::uint64_t count_;
  ExecuteBody body_;
  std::deque<Piece> queue_;
  std::uint64_t held_ = 0;    // bytes charged for the queue
  std::uint64_t queued_ = 0;  // bytes in it
  Error full_;                // why no more could be held
  bool is_full_ = false;
  bool done_ = false;
  bool lost_ = false;
  std::string last_lines_;
  std::string out_tail_;
  std::string err_tail_;
  Event changed_;
};

}  // namespace cloche::dialect::e2b
