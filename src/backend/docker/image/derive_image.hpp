// ImageDeriver: how the agent gets into a sandbox without a path of the engine's host and despite the read-only root.
//
// Once for each base image, agent and layout: a container is created from the base image and never started, the agent
// is unpacked in it, and it is committed under a tag that identifies the content. The commit is the last step, so an
// existing tag is complete.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <memory>
#include <set>
#include <string>

#include "backend/docker/engine/image_calls.hpp"
#include "backend/docker/engine/options.hpp"
#include "backend/docker/image/agent_archive.hpp"
#include "backend/docker/reaper.hpp"
#include "core/async/event.hpp"

namespace cloche::docker {

class ImageDeriver {
 public:
  ImageDeriver(Executor executor, asio::thread_pool& pool, std::shared_ptr<Reaper> reaper,
               const DockerOptions& options);

  // The reference of the derived image. Those who ask for the same one at the same time share one effort.
  Task<Result<std::string>> derive(const ImageDetails& base, ImageLayout layout, Deadline deadline);

  // The image was removed: derive it again at the next request.
  void forget(const std::string& reference) { known_.erase(reference); }

 private:
  // The turn of one coroutine to work on a tag.
  class Turn;

  Task<Status> ensure_agent();
  Task<Status> make(const ImageDetails& base, DerivedTag tag, ImageLayout layout, Deadline deadline);
  Task<Result<OtherNames>> find_other_names(std::string container, Deadline deadline);
  Task<Status> add_users(std::string container, ImageLayout layout, ImageAdditions& additions, Deadline deadline);
  Task<Status> make_in(std::string name, std::string mark, const ImageDetails& base, DerivedTag tag, ImageLayout layout,
                       Cleanup& cleanup, Deadline deadline);

  asio::thread_pool& pool_;
  std::shared_ptr<Reaper> reaper_;
  std::shared_ptr<Engine> engine_;
  std::string agent_path_;
  InstanceId instance_;
  std::string name_prefix_;
  std::shared_ptr<const AgentProgram> agent_;
  std::set<std::string> known_;  // tags that were there when we looked
  std::set<std::string> busy_;   // tags that a coroutine works on
  Event turn_ended_;
};

}  // namespace cloche::docker
