// Which model file a command takes when none is named.
#pragma once
#include <string>

// In this order: `named` (-m), the file in LLM_MODEL, the default model where it has been fetched (in LLM_MODELS, else
// ${XDG_DATA_HOME:-~/.local/share}/llm/models), the bundled one (../share/llm beside the executable, else the source
// tree's models/). `origin` is empty where the user named it. False: `sentence` says where was looked.
bool choose_model(const std::string &named, std::string &path, std::string &origin, std::string &sentence);
