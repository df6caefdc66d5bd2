// Proof that a message comes from a holder of a secret, and comparison that does not reveal the secret by its time.
#pragma once

#include <string_view>

#include "crypto/sha256.hpp"

namespace cloche {

Digest hmac_sha256(std::string_view key, std::string_view bytes);

// Takes the same time whatever differs.
bool same_in_constant_time(const Digest& a, std::string_view b);
bool same_in_constant_time(const Digest& a, const Digest& b);

}  // namespace cloche
