// What an array or a pointer holds, for a trace: its scalars, which of a vector type are several.
#pragma once

#include <cstddef>
#include <type_traits>

namespace simulator {

struct ElementType {
  const char* name = "other";  // "float", "int32" …, or "other": no scalar
  size_t bytes = 1;            // of one scalar
};

/// float4 and its kin: as many members of one arithmetic type as fit.
template <class T>
concept VectorType = std::is_class_v<T> && requires(T v) {
  v.x;
  requires std::is_arithmetic_v<decltype(v.x)>;
  requires sizeof(T) == sizeof(v.x) || requires {
    requires std::is_same_v<decltype(v.x), decltype(v.y)>;
  };
  requires sizeof(T) <= 2 * sizeof(v.x) || requires {
    requires std::is_same_v<decltype(v.x), decltype(v.z)>;
  };
  requires sizeof(T) <= 3 * sizeof(v.x) || requires {
    requires std::is_same_v<decltype(v.x), decltype(v.w)>;
  };
  requires sizeof(T) <= 4 * sizeof(v.x) && sizeof(T) % sizeof(v.x) == 0;
};

template <class Type>
constexpr ElementType element_type() {
  using T = std::remove_cv_t<Type>;
  if constexpr (std::is_array_v<T>) {
    return element_type<std::remove_all_extents_t<T>>();
  } else if constexpr (VectorType<T>) {
    return element_type<decltype(T::x)>();
  } else if constexpr (std::is_enum_v<T>) {
    return element_type<std::underlying_type_t<T>>();
  } else if constexpr (std::is_same_v<T, float>) {
    return {"float", sizeof(T)};
  } else if constexpr (std::is_same_v<T, double>) {
    return {"double", sizeof(T)};
  } else if constexpr (std::is_same_v<T, bool>) {
    return {"bool", sizeof(T)};
  } else if constexpr (std::is_integral_v<T>) {
    constexpr const char* names[2][4] = {{"uint8", "uint16", "uint32", "uint64"},
                                         {"int8", "int16", "int32", "int64"}};
    constexpr int size = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return {names[std::is_signed_v<T>][size], sizeof(T)};
  } else if constexpr (std::is_void_v<T> || std::is_function_v<T>) {
    return {};
  } else if constexpr (requires { sizeof(T); }) {
    return {"other", sizeof(T)};
  } else {
    return {};  // only declared here
  }
}

}  // namespace simulator
