#include "backend/docker/image/derive_image.hpp"

#include "backend/docker/hardening.hpp"
#include "core/async/blocking.hpp"
#include "core/ids.hpp"
#include "core/log.hpp"

namespace cloche::docker {

// Gives the turn back at the end of the scope, also when that is left by a cancellation.
class ImageDeriver::Turn {
 public:
  Turn(ImageDeriver& deriver, std::string reference) : deriver_(deriver), reference_(std::move(reference)) {
    deriver_.busy_.insert(reference_);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    deriver_.busy_.erase(reference_);
    deriver_.turn_ended_.notify();
  }

 private:
  ImageDeriver& deriver_;
  std::string reference_;
};

ImageDeriver::ImageDeriver(Executor executor, asio::thread_pool& pool, std::shared_ptr<Reaper> reaper,
                           const DockerOptions& options)
    : pool_(pool),
      reaper_(std::move(reaper)),
      engine_(reaper_->engine()),
      agent_path_(options.agent_path),
      instance_(options.instance),
      name_prefix_(options.name_prefix),
      turn_ended_(std::move(executor)) {}

Task<Status> ImageDeriver::ensure_agent() {
  if (agent_) co_return Status{};
  auto load = [path = agent_path_] { return load_agent(path); };
  CLOCHE_CO_TRY(agent_, co_await run_blocking(pool_, std::move(load)));
  co_return Status{};
}

Task<Result<std::string>> ImageDeriver::derive(const ImageDetails& base, ImageLayout layout, Deadline deadline) {
  CLOCHE_CO_CHECK(co_await ensure_agent());
  const DerivedTag tag = derived_tag(base.id, *agent_, layout);
  const std::string reference = tag.reference();
  while (!known_.contains(reference) && busy_.contains(reference)) {
    if (deadline.passed())
      co_return fail(ErrorCode::timeout, "derive image " + reference + ": another caller is still deriving it");
    co_await turn_ended_.wait(deadline);
  }
  if (known_.contains(reference)) co_return reference;
  const Turn turn(*this, reference);
  auto there = co_await inspect_image(*engine_, reference, deadline);
  if (!there && there.error().code != ErrorCode::not_found) {
    co_return fail(as_trouble_of_engine(std::move(there).error()));
  }
  if (!there) {
    auto made = co_await make(base, tag, std::move(layout), deadline);
    if (!made) co_return fail(std::move(made).error().at("derive image " + reference));
  }
  known_.insert(reference);
  co_return reference;
}

Task<Status> ImageDeriver::make(const ImageDetails& base, DerivedTag tag, ImageLayout layout, Deadline deadline) {
  log::info("docker: deriving image {} of {}", tag.reference(), base.id);
  const std::string mark = random_hex(8);
  const std::string name = name_prefix_ + "-derive-" + mark;
  Cleanup cleanup(reaper_, labels::deriving, mark);
  auto made = co_await make_in(name, mark, base, std::move(tag), std::move(layout), cleanup, deadline);
  co_await cleanup.run();
  co_return made;
}

// `python` for images that have only `python3`.
Task<Result<OtherNames>> ImageDeriver::find_other_names(std::string container, Deadline deadline) {
  OtherNames names;
  std::string python3;
  for (const char* place : {"/usr/local/sbin/", "/usr/local/bin/", "/usr/sbin/", "/usr/bin/", "/sbin/", "/bin/"}) {
    const std::string wanted = std::string(place) + "python";
    const std::string instead = wanted + "3";
    CLOCHE_CO_TRY(const bool is_there, co_await has_path(*engine_, container, wanted, deadline));
    if (is_there) co_return names;
    if (!python3.empty()) continue;
    CLOCHE_CO_TRY(const bool is_instead, co_await has_path(*engine_, container, instead, deadline));
    if (is_instead) python3 = instead;
  }
  if (!python3.empty()) names.emplace("python", python3);
  co_return names;
}

// The image's /etc/passwd and /etc/group with the users that a sandbox may have. What is not a file stays as it is.
Task<Status> ImageDeriver::add_users(std::string container, ImageLayout layout, ImageAdditions& additions,
                                     Deadline deadline) {
  auto passwd = co_await read_file(*engine_, container, "/etc/passwd", deadline);
  if (!passwd && passwd.error().code != ErrorCode::not_found) co_return fail(std::move(passwd).error());
  auto group = co_await read_file(*engine_, std::move(container), "/etc/group", deadline);
  if (!group && group.error().code != ErrorCode::not_found) co_return fail(std::move(group).error());
  if (passwd && !*passwd) co_return Status{};
  const std::string before = passwd ? **passwd : std::string();
  std::string after = with_users(before, layout);
  if (after == before) co_return Status{};
  additions.passwd = std::move(after);
  if (!group || *group) additions.group = with_group(group ? **group : std::string(), layout);
  co_return Status{};
}

Task<Status> ImageDeriver::make_in(std::string name, std::string mark, const ImageDetails& base, DerivedTag tag,
                                   ImageLayout layout, Cleanup& cleanup, Deadline deadline) {
  json::object body;
  body["Image"] = base.id;
  // It is never started, but engines require a command.
  body["Entrypoint"] = json::array{agent_in_sandbox};
  body["Cmd"] = json::array{"init"};
  body["Labels"] = json::object{{labels::deriving_owner, instance_.value}, {labels::deriving, mark}};
  body["HostConfig"] = json::object{{"NetworkMode", "none"}};
  auto created = co_await create_container(*engine_, name, std::move(body), deadline);
  const bool heard =
      created || (created.error().code != ErrorCode::timeout && created.error().code != ErrorCode::unavailable);
  if (heard) cleanup.answered();
  if (!created) {
    // The image that it is derived of may have been removed a moment ago, and is what must be brought back.
    const bool has_no_image = created.error().code == ErrorCode::not_found;
    co_return fail(has_no_image ? std::move(created).error() : as_trouble_of_engine(std::move(created).error()));
  }
  auto names = co_await find_other_names(created->id, deadline);
  if (!names) co_return fail(as_trouble_of_engine(std::move(names).error()));
  ImageAdditions additions;
  additions.names = std::move(*names);
  auto named = co_await add_users(created->id, layout, additions, deadline);
  if (!named) co_return fail(as_trouble_of_engine(std::move(named).error()));
  auto pack = [agent = agent_, layout, additions = std::move(additions)] {
    return make_archive(*agent, layout, additions);
  };
  CLOCHE_CO_TRY(std::string archive, co_await run_blocking(pool_, std::move(pack)));
  auto put = co_await put_archive(*engine_, created->id, std::move(archive), deadline);
  if (!put) co_return fail(as_trouble_of_engine(std::move(put).error()));
  // The container's labels go into the image and cannot be taken away, only emptied; else a sandbox made of the image
  // would pass for a container that is being derived.
  json::object config;
  config["Labels"] = json::object{
      {labels::derived, "1"}, {labels::agent, agent_->sha256}, {labels::deriving_owner, ""}, {labels::deriving, ""}};
  auto committed =
      co_await commit_container(*engine_, created->id, tag.repository, tag.tag, std::move(config), deadline);
  if (!committed) co_return fail(as_trouble_of_engine(std::move(committed).error()));
  co_return Status{};
}

}  // namespace cloche::docker
