#include "json/shape.hpp"

namespace cloche::shapes {

constinit const Shape anything{.kinds = Shape::flag | Shape::number | Shape::text | Shape::list | Shape::object,
                               .wanted = "a JSON value",
                               .each = &anything,
                               .most = static_cast<std::size_t>(-1)};

}  // namespace cloche::shapes
