// Taking, Reading: one snapshot, while it is taken and while it is read. Blocking; from one thread at a time.
#pragma once

#include "snapshot/intake.hpp"
#include "snapshot/store.hpp"

namespace cloche::snapshot {

enum class Place { work, home };

// Gone without a trace unless it is committed.
class Taking {
 public:
  Taking(std::shared_ptr<SnapshotStore> store, std::shared_ptr<TenantSnapshots> tenant, Manifest manifest,
         Allowance allowance);
  Taking(const Taking&) = delete;
  Taking& operator=(const Taking&) = delete;
  ~Taking() { abandon(); }

  // Begins the tree of a place; the archive follows in pieces. `excluded`: as that of Intake.
  void begin(Place place, std::vector<std::string> excluded);
  Status feed(std::string_view bytes) { return intake_->feed(bytes); }
  Status end() { return intake_->finish(); }
  // The snapshot exists from now on.
  Result<SnapshotInfo> commit();
  // Removes what there is of it, unless it is committed. As the destructor does, at a time of the caller's choice.
  void abandon();

 private:
  // It no longer counts as one that is being taken. The store's mutex is held.
  void leave();
  Status add(Tree& tree, std::string_view bytes);

  std::shared_ptr<SnapshotStore> store_;
  std::shared_ptr<TenantSnapshots> tenant_;
  Manifest manifest_;
  Allowance allowance_;
  IntakeCounts counts_;
  std::optional<Intake> intake_;
  std::size_t pieces_ = 0;
  bool is_named_ = false;
  bool is_done_ = false;
};

class Reading {
 public:
  // Has references to the manifest's pieces, which it releases.
  Reading(std::shared_ptr<TenantSnapshots> tenant, Manifest manifest);
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;
  ~Reading();

  const SnapshotInfo& info() const { return manifest_.info; }
  bool has_home() const { return manifest_.home.has_value(); }
  // The next part of a place's tar stream; empty at its end. Every byte has been checked.
  Result<std::string> next(Place place);

 private:
  std::shared_ptr<TenantSnapshots> tenant_;
  Manifest manifest_;
  std::size_t next_work_ = 0;
  std::size_t next_home_ = 0;
};

}  // namespace cloche::snapshot
