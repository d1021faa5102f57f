#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pipetrace {

/// An XML element, with its attributes as written.
struct XmlElement {
  std::string name;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::string text;  ///< the text directly inside, with entities resolved

  std::string attribute(std::string_view key) const;
};

/// Parses the part of XML that these tests need: declaration, elements, attributes, character data,
/// predefined and numeric entities. Throws std::runtime_error for anything else, and for a document
/// that is not well-formed. Returns the elements in document order.
std::vector<XmlElement> parseXml(std::string_view document);

}  // namespace pipetrace
