"""The services of a lamp. `set_light(brightness)` drives the hardware, from 0 (off) to 100 percent."""


def lamp_services(set_light):
    state = {"brightness": 0}

    def set_brightness(params):
        percent = params["percent"]
        if not 0 <= percent <= 100:
            raise ValueError("percent must be from 0 to 100")
        set_light(percent)
        state["brightness"] = percent
        return state

    percent = {"type": "integer", "minimum": 0, "maximum": 100, "description": "0 is off, 100 is full light"}
    parameters = {"type": "object", "properties": {"percent": percent}, "required": ["percent"]}
    nothing = {"type": "object", "properties": {}}
    return {
        "set_brightness": ("Sets the brightness of the lamp", parameters, set_brightness),
        "get_brightness": ("Returns the brightness of the lamp", nothing, lambda params: state),
    }
