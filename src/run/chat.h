#pragma once
namespace llm { struct chat; }
